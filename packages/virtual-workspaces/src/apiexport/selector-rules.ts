import {
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
 * What the selector of an accepted claim asks of writes (C6.19): labels that it names are put into what is created or
 * updated, and an object that it does not match is not for the provider. Undefined for a selector of everything.
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
  const refuse = (object: JsonObject, why: string): Error =>
    statusErrors.forbidden(resource, name === '' ? nameOf(object) : name, why);
  return {
    complete: (object) => {
      const labels = labelsOf(object);
      const missing: [string, string][] = [];
      for (const [key, value] of protectedLabels) {
        if (!Object.hasOwn(labels, key)) missing.push([key, value]);
        else if (labels[key] !== value) throw refuse(object, `protected label ${key} must have value ${value}`);
      }
      if (missing.length === 0) return object;
      const metadata = isJsonObject(object['metadata']) ? object['metadata'] : {};
      return { ...object, metadata: { ...metadata, labels: { ...labels, ...Object.fromEntries(missing) } } };
    },
    require: (object) => {
      if (!matcher.matches(textsOf(labelsOf(object)))) throw refuse(object, 'object does not match required labels');
    },
  };
}

function labelsOf(object: JsonObject): JsonObject {
  const { metadata } = object;
  const labels = isJsonObject(metadata) ? metadata['labels'] : undefined;
  return isJsonObject(labels) ? labels : {};
}

/** What is no text is no label: the shard refuses it. */
const textsOf = (labels: JsonObject): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

function nameOf({ metadata }: JsonObject): string {
  const { name, generateName } = isJsonObject(metadata) ? metadata : {};
  const text = [name, generateName].find((candidate) => typeof candidate === 'string' && candidate !== '');
  return typeof text === 'string' ? text : 'Unknown';
}
