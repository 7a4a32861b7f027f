import { quote, type DeepReadonly, type KubeObject } from '@multiplane/apimachinery';
import { listAt, textAt } from '../fields.ts';
import { readJsonPaths } from './read-json-paths.ts';

/** Condition of a CustomResourceDefinition of which something is not served; its message says what and why. */
export const degradedCondition = 'Degraded';

/** Longer names and paths are cut in messages. */
const maxShownLength = 128;
/** Paths that are named; a definition may have thousands. */
const maxNamed = 8;

/**
 * The printer columns and selectable fields that are left out because their JSONPath cannot be parsed, of all versions of a
 * CustomResourceDefinition or APIResourceSchema; one text for each.
 */
export function unreadablePaths(definition: DeepReadonly<KubeObject> | undefined): readonly string[] {
  const problems: string[] = [];
  for (const version of listAt(definition, 'spec', 'versions')) {
    const name = shown(textAt(version, 'name'));
    for (const { source, text, cause } of readJsonPaths(listAt(version, 'additionalPrinterColumns')).unreadable) {
      const column = shown(textAt(source, 'name'));
      problems.push(
        `version ${name}: column ${column} is left out: unrecognized column definition ${shown(text)}: ${cause}`,
      );
    }
    for (const { text, cause } of readJsonPaths(listAt(version, 'selectableFields')).unreadable)
      problems.push(`version ${name}: selectable field ${shown(text)} is left out: ${cause}`);
  }
  return problems.length <= maxNamed
    ? problems
    : [...problems.slice(0, maxNamed), `${problems.length - maxNamed} more JSONPaths cannot be parsed`];
}

/** Those of {@link unreadablePaths} that the stored object does not have yet. */
export function unreadablePathWarnings(
  definition: DeepReadonly<KubeObject>,
  old: DeepReadonly<KubeObject> | undefined,
): readonly string[] {
  const before = new Set(unreadablePaths(old));
  return unreadablePaths(definition).filter((problem) => !before.has(problem));
}

const shown = (text: string): string =>
  quote(text.length > maxShownLength ? `${text.slice(0, maxShownLength).toWellFormed()}…` : text);
