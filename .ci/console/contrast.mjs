// contrasts lists the texts of the page that stand out from their ground by less than the ratio (WCAG 2: 4.5 for text of
// this size). It runs in the page.
export function contrasts(ratio) {
  const numbers = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (color) => {
    const [r, g, b] = numbers(color).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (e) => {
    const color = getComputedStyle(e).backgroundColor;
    return numbers(color)[3] === 0 && e.parentElement ? ground(e.parentElement) : color;
  };
  const low = [];
  for (const e of document.body.querySelectorAll("*")) {
    const own = [...e.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
    if (!own || e.getClientRects().length === 0) continue;
    const [a, b] = [getComputedStyle(e).color, ground(e)].map((c) => luminance(c) + 0.05);
    if (Math.max(a, b) / Math.min(a, b) < ratio) low.push(`${e.textContent.trim().slice(0, 40)}: ${(Math.max(a, b) / Math.min(a, b)).toFixed(1)}`);
  }
  return low;
}
