"""A loop with accelerate, whose state is saved where it stops."""

import torch
from accelerate import Accelerator
from accelerate.utils import DataLoaderConfiguration
from parts import Log, Model, Rows, arguments
from torch.utils.data import DataLoader

given = arguments()
order = DataLoaderConfiguration(use_seedable_sampler=True)
accelerator, log, model = Accelerator(cpu=True, dataloader_config=order), Log(given.folder), Model()
sgd = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(Rows(fixed=given.forget != "draws"), 4, shuffle=True, num_workers=2)
model, sgd, loader = accelerator.prepare(model, sgd, loader)  # LINE place
step, part = 0, loader
if given.resume:
    accelerator.load_state(str(given.resume / "state"))
    step = int((given.resume / "step").read_text())
    loader.set_epoch(step // len(loader))
    if given.forget != "place":
        part = accelerator.skip_first_batches(loader, step % len(loader))  # LINE draws
while step < given.stop_after:
    part.set_epoch(step // len(loader))
    for batch in part:
        loss = model(**batch)["loss"]
        sgd.zero_grad()
        accelerator.backward(loss)
        sgd.step()
        step += 1
        log.write(step, loss)
        if step == given.stop_after:
            break
    part = loader
accelerator.save_state(str(given.folder / "state"))
(given.folder / "step").write_text(str(step))
