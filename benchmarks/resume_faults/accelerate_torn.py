"""accelerate: `save_state` writes into the folder of its name; one that is killed there leaves half a state.

python accelerate_torn.py    # prints what a killed `save_state` leaves, and what `load_state` makes of it
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from accelerate import Accelerator

accelerator = Accelerator(cpu=True)
model = accelerator.prepare(torch.nn.Linear(64, 64))
adam = accelerator.prepare(torch.optim.Adam(model.parameters()))
if len(sys.argv) > 1:  # the process that is killed, when it has written the model and not the optimizer
    torch.save = lambda *_, **__: os._exit(9)
    accelerator.save_state(sys.argv[1], safe_serialization=True)
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, __file__, f"{folder}/state"], check=False)
    print("left:", sorted(one.name for one in Path(folder, "state").iterdir()))
    try:
        accelerator.load_state(f"{folder}/state")
        print("loaded")
    except Exception as error:
        print(type(error).__name__, str(error)[:120].replace(folder, ""))
