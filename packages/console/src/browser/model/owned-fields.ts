/** The fields in a set of `fieldsV1`, as paths: `spec.replicas`, `spec.ports[port=80].name`. */
export function ownedFields(fields: unknown): readonly string[] {
  const paths: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (typeof value !== 'object' || value === null) return;
    const entries = Object.entries(value);
    if (path !== '' && entries.every(([name]) => name === '.')) paths.push(path);
    for (const [name, inner] of entries) if (name !== '.') visit(inner, step(path, name));
  };
  visit(fields, '');
  return paths;
}

function step(path: string, name: string): string {
  const text = name.slice(2);
  if (name.startsWith('f:')) return path === '' ? text : `${path}.${text}`;
  if (!name.startsWith('k:')) return `${path}[${text}]`;
  try {
    const keys = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return `${path}[${keys.map(([key, value]) => `${key}=${String(value)}`).join(',')}]`;
  } catch {
    return `${path}[${text}]`;
  }
}
