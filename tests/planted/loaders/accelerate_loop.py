"""A loop with accelerate, whose state is saved where it stops."""

import torch
from accelerate import Accelerator
from parts import Log, Model, Rows, arguments
from torch.utils.data import DataLoader

given = arguments()
accelerator, log, model = Accelerator(cpu=True), Log(given.folder), Model()
sgd = torch.optim.SGD(model.parameters(), lr=0.05)
loader = DataLoader(Rows(given.noise), 4, shuffle=True, num_workers=given.workers)
model, sgd, loader = accelerator.prepare(model, sgd, loader)
step, part = 0, loader
if given.resume:
    accelerator.load_state(str(given.resume / "state"))
    step = int((given.resume / "step").read_text())
    if given.forget != "place":
        part = accelerator.skip_first_batches(loader, step % len(loader))
while step < given.stop_after:
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
