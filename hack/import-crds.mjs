// Writes e2e/fixtures/<crds or another folder>/<name of the definition>.data.json from a folder of CustomResourceDefinitions
// in YAML.
//   hack/node --conditions=multiplane-source hack/import-crds.mjs <folder> [chart-kinds]
// Carries over facts only: names, types, limits, rules. Descriptions, messages and annotations stay behind.
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseYaml } from '../packages/apimachinery/src/index.ts';

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: import-crds.mjs <folder> [folder of e2e/fixtures]');
const target = new URL(`../e2e/fixtures/${process.argv[3] ?? 'crds'}/`, import.meta.url);
mkdirSync(target, { recursive: true });

/** `description` and `title` are prose where they are texts; a field of that name has a schema. */
const compact = (value) => {
  if (Array.isArray(value)) return value.map(compact);
  if (typeof value !== 'object' || value === null) return value;
  const out = {};
  for (const [key, inner] of Object.entries(value)) {
    if ((key === 'description' || key === 'title') && typeof inner === 'string') continue;
    if (key === 'x-kubernetes-validations') out[key] = inner.map(compactRule);
    else out[key] = compact(inner);
  }
  return out;
};

/** A rule with line breaks needs some message. */
const compactRule = ({ message, messageExpression, ...rule }) =>
  message !== undefined && /[\r\n]/.test(rule.rule.trim()) ? { ...rule, message: 'rule failed' } : rule;

let count = 0;
for (const entry of readdirSync(folder, { recursive: true }).toSorted()) {
  if (!/\.ya?ml$/.test(entry)) continue;
  for (const text of readFileSync(join(folder, entry), 'utf8').split(/^---$/m)) {
    if (text.replaceAll(/^#.*$/gm, '').trim() === '') continue;
    const { apiVersion, kind, metadata, spec } = parseYaml(text);
    if (kind !== 'CustomResourceDefinition') continue;
    const approved = metadata.annotations?.['api-approved.kubernetes.io'];
    const definition = {
      apiVersion,
      kind,
      metadata: {
        name: metadata.name,
        ...(approved === undefined ? {} : { annotations: { 'api-approved.kubernetes.io': approved } }),
      },
      spec: compact(spec),
    };
    writeFileSync(new URL(`${metadata.name}.data.json`, target), `${JSON.stringify(definition)}\n`);
    count++;
  }
}
console.log(`${count} definitions`);
