import { camelCase, type OptionTable } from '@multiplane/component-base';

/** The flags that were set, with their values as the text that sets them again. */
export function givenTexts(
  table: OptionTable,
  values: Readonly<Record<string, unknown>>,
  given: ReadonlySet<string>,
): Readonly<Record<string, string>> {
  const texts: Record<string, string> = {};
  for (const name of given) {
    const value = values[camelCase(name)];
    const { type } = table[name] ?? {};
    if (type === 'list') texts[name] = (value as readonly string[]).join(',');
    else if (type === 'map')
      texts[name] = Object.entries(value as Readonly<Record<string, string>>)
        .map((entry) => entry.join('='))
        .join(',');
    else texts[name] = type === 'duration' ? `${value as number}ms` : String(value);
  }
  return texts;
}
