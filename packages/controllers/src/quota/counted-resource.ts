import { plainlyCounted } from '@multiplane/apis';

/** The resource that a name in `spec.hard` counts; undefined for names that do not count objects (cpu, memory, …). */
export function countedResource(name: string): { group: string; resource: string } | undefined {
  if (name.startsWith('count/')) {
    const text = name.slice('count/'.length);
    const dot = text.indexOf('.');
    return dot < 0 ? { group: '', resource: text } : { group: text.slice(dot + 1), resource: text.slice(0, dot) };
  }
  return plainlyCounted.has(name) ? { group: '', resource: name } : undefined;
}
