import {
  getOwn,
  isJsonObject,
  labelSelectorFromObject,
  statusErrors,
  type DeepReadonly,
  type GroupResource,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import type { ClaimSelector } from '@multiplane/apis';
import type { WriteRules } from '@multiplane/virtual-framework';

/**
 * Write rules for the selector of an accepted claim: `matchLabels` are added to created and updated objects, and
 * objects that do not match cannot be written. Undefined for a selector that matches everything.
 */
export function selectorRules(
  resource: GroupResource,
  name: string,
  selector: DeepReadonly<ClaimSelector> | undefined,
): WriteRules | undefined {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const protectedLabels = Object.entries(matchLabels);
  if (protectedLabels.length === 0 && matchExpressions.length === 0) return undefined;
  const matcher = labelSelectorFromObject({ matchLabels, matchExpressions } as unknown as Json);
  const selected = [...protectedLabels.map(([key]) => key), ...matchExpressions.map(({ key }) => key)];
  const forbidden = (object: JsonObject, why: string): Error =>
    statusErrors.forbidden(resource, name === '' ? nameOf(object) : name, why);
  return {
    mutate: (object) => {
      const labels = labelsOf(object);
      const missing: [string, string][] = [];
      for (const [key, value] of protectedLabels) {
        if (!Object.hasOwn(labels, key)) missing.push([key, value]);
        else if (labels[key] !== value) throw forbidden(object, `protected label ${key} must have value ${value}`);
      }
      if (missing.length === 0) return object;
      const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
      // In place: to copy 65,000 labels takes a long step, and nothing else holds them.
      return { ...object, metadata: { ...metadata, labels: Object.assign(labels, Object.fromEntries(missing)) } };
    },
    validate: (object) => {
      if (!matcher.matches(stringValuesOf(labelsOf(object), selected)))
        throw forbidden(object, 'object does not match required labels');
    },
  };
}

function labelsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  const labels = isJsonObject(metadata) ? metadata['labels'] : undefined;
  return isJsonObject(labels) ? labels : {};
}

/** Of these keys. Values that are not strings are skipped; the shard rejects them. */
const stringValuesOf = (labels: JsonObject, keys: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    keys
      .map((key) => [key, getOwn(labels, key)] as const)
      .filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );

function nameOf({ metadata }: JsonObject): string {
  const { name, generateName } = isJsonObject(metadata) ? metadata : {};
  const text = [name, generateName].find((candidate) => typeof candidate === 'string' && candidate !== '');
  return typeof text === 'string' ? text : 'Unknown';
}
