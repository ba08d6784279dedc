"""The tiny GPT beside this file, trained under torch.compile."""

import sys

import torch
from autoresearch import cli, toy_train

GPT = toy_train.GPT
toy_train.GPT = lambda config: torch.compile(GPT(config))
sys.exit(cli.main(sys.argv[1:]))
