export interface Sample {
  readonly labels: Readonly<Record<string, string | undefined>>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? ([^ ]+)(?: \d+)?$/;
const label = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

/** The samples of a text in Prometheus' exposition format, by metric. Lines that are none are left out. */
export function parseExposition(text: string): Map<string, Sample[]> {
  const samples = new Map<string, Sample[]>();
  for (const each of text.split('\n')) {
    if (each === '' || each.startsWith('#')) continue;
    const [, name, labelText = '', number] = line.exec(each) ?? [];
    if (name === undefined || number === undefined) continue;
    const labels: Record<string, string | undefined> = Object.create(null) as Record<string, string | undefined>;
    for (const [, key = '', value = ''] of labelText.matchAll(label))
      labels[key] = value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped));
    const list = samples.get(name);
    if (list === undefined) samples.set(name, [{ labels, value: Number(number) }]);
    else list.push({ labels, value: Number(number) });
  }
  return samples;
}
