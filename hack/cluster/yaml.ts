/** A value as block-style YAML, for files that people read. */
export function toYaml(value: object): string {
  return `${lines(value, '').join('\n')}\n`;
}

function lines(value: object, pad: string): string[] {
  if (!Array.isArray(value))
    return Object.entries(value).flatMap(([key, member]: [string, unknown]) =>
      isFull(member)
        ? [`${pad}${scalar(key)}:`, ...lines(member, `${pad}  `)]
        : [`${pad}${scalar(key)}: ${scalar(member)}`],
    );
  return value.flatMap((item: unknown) => {
    if (!isFull(item)) return [`${pad}- ${scalar(item)}`];
    const [first = '', ...rest] = lines(item, `${pad}  `);
    return [`${pad}- ${first.trimStart()}`, ...rest];
  });
}

const isFull = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).length > 0;

/** Texts are quoted whenever a reader might take them for something else. */
function scalar(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  const isPlain =
    /^[a-z/][\w./ @+-]*$/i.test(value) && !/^(true|false|yes|no|on|off|null|y|n)$/i.test(value) && !value.endsWith(' ');
  return isPlain ? value : `'${value.replaceAll("'", "''")}'`;
}
