// Controls change the address without a word to this link, so it is read again before the link is used.
export default function ({ data, parentElement }) {
  const link = parentElement.querySelector("a");
  const refresh = () => { link.href = addressOf(data.carried, false); };
  refresh();
  link.onpointerenter = link.onfocus = link.onpointerdown = refresh;
}
