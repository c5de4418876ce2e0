// Contrast of all visible text of a page, by the formula of WCAG 2.2 (relative luminance). Runs in the browser.
export interface Finding {
  text: string;
  ratio: number;
  needed: number;
}

export function contrasts(): Finding[] {
  type Colour = [number, number, number, number];
  const read = (css: string): Colour[] =>
    [...css.matchAll(/rgba?\(([^)]+)\)/g)].map((match) => {
      const [r = 0, g = 0, b = 0, a = 1] = (match[1] ?? "").split(/[ ,/]+/).map(Number);
      return [r, g, b, a];
    });
  const over = (top: Colour, below: Colour): Colour => {
    const mix = (i: 0 | 1 | 2) => top[i] * top[3] + below[i] * (1 - top[3]);
    return [mix(0), mix(1), mix(2), 1];
  };
  const luminance = (colour: Colour): number => {
    const part = (i: 0 | 1 | 2) => {
      const c = colour[i] / 255;
      return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * part(0) + 0.7152 * part(1) + 0.0722 * part(2);
  };
  // Every colour that may be behind: the two ends of the sky, and the hills; or the plain colour of the page.
  const hills = [...document.querySelectorAll(".land path")].flatMap((path) => read(getComputedStyle(path).fill));
  const behind = (element: Element | null): Colour[] => {
    if (!element) return hills;
    const style = getComputedStyle(element);
    const [own] = read(style.backgroundColor);
    if (element === document.body) {
      const sky = read(style.backgroundImage);
      return sky.length ? [...sky, ...hills] : own ? [own] : [];
    }
    return behind(element.parentElement).map((below) => (own ? over(own, below) : below));
  };
  const findings: Finding[] = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent?.trim();
    if (!element || !text || !element.checkVisibility() || element.closest("script, #spoken, .unseen")) continue;
    const style = getComputedStyle(element);
    const [colour] = read(style.color);
    if (!colour) continue;
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratios = behind(element).map((below) => {
      const [light = 0, dark = 0] = [luminance(over(colour, below)), luminance(below)].sort((a, b) => b - a);
      return (light + 0.05) / (dark + 0.05);
    });
    findings.push({ text, ratio: Math.min(...ratios), needed });
  }
  return findings;
}
