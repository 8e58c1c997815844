"""An LLM client from the options that the measuring scripts share. What is measured lives in the scripts."""

import argparse

from ml.counterfactuals.registry import offline_rules
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client


def add_backend_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backend", choices=("rules", "anthropic", "openai"), default="rules")
    parser.add_argument("--model", help="model name; needed for anthropic and openai, whose key is read from the usual variable")
    parser.add_argument("--base-url", help="another server that speaks the same interface")


def client_of(arguments: argparse.Namespace) -> Client:
    """The client that the options ask for. No cache: a measurement asks anew."""
    match arguments.backend:
        case "rules":
            return Client(RulesBackend(offline_rules()))
        case _ if not arguments.model:
            raise SystemExit(f"--backend {arguments.backend} needs --model")
        case "anthropic":
            from ml.llm.backends.anthropic_backend import AnthropicBackend

            return Client(AnthropicBackend(arguments.model, base_url=arguments.base_url))
        case _:
            from ml.llm.backends.openai_backend import OpenAIBackend

            return Client(OpenAIBackend(arguments.model, base_url=arguments.base_url))
