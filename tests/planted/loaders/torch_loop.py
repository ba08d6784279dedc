"""A loop of PyTorch's own, which can stop and go on in the middle of an epoch."""

import torch
from parts import Log, Model, Rows, arguments
from torch.utils.data import DataLoader

given = arguments()
model, log, order = Model(), Log(given.folder), torch.Generator()
sgd = torch.optim.SGD(model.parameters(), lr=0.05)
order.manual_seed(3)
step, begun = 0, order.get_state()
if given.resume:
    saved = torch.load(given.resume / "saved.pt")
    model.load_state_dict(saved["model"])
    step, begun = saved["step"], saved["begun"]
    if given.forget != "draws":
        order.set_state(begun)
loader = DataLoader(Rows(given.noise), 4, shuffle=True, num_workers=given.workers, generator=order)
behind = 0 if given.forget == "place" and given.resume else step % len(loader)
while step < given.stop_after:
    begun = order.get_state()
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
torch.save({"model": model.state_dict(), "step": step, "begun": begun}, given.folder / "saved.pt")
