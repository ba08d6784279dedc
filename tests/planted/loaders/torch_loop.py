"""A loop of PyTorch's own, which can stop and go on in the middle of an epoch."""

import torch
from parts import Log, Model, Rows, arguments
from torch.utils.data import DataLoader, RandomSampler

given = arguments()
model, log, rows = Model(), Log(given.folder), Rows()
order, seeds = torch.Generator().manual_seed(3), torch.Generator().manual_seed(4)
sgd = torch.optim.SGD(model.parameters(), lr=0.05)
step, behind = 0, 0
if given.resume:
    saved = torch.load(given.resume / "saved.pt")
    model.load_state_dict(saved["model"])
    step = saved["step"]
    if given.forget != "place":
        order.set_state(saved["order"])
        behind = saved["behind"]
    if given.forget != "draws":
        seeds.set_state(saved["seeds"])
sampler = RandomSampler(rows, generator=order)
loader = DataLoader(rows, 4, sampler=sampler, num_workers=2, generator=seeds)  # LINE place draws
while step < given.stop_after:
    begun = {"order": order.get_state(), "seeds": seeds.get_state()}
    for number, batch in enumerate(loader):
        if number < behind:
            continue
        loss = model(**batch)["loss"]
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        step += 1
        log.write(step, loss)
        if step == given.stop_after:
            break
    behind = 0
saved = {"model": model.state_dict(), "step": step, "behind": step % len(loader), **begun}
torch.save(saved, given.folder / "saved.pt")
