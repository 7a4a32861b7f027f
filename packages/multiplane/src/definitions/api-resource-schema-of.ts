import {
  fieldErrors,
  fieldErrorText,
  isJsonObject,
  validateDns1123Subdomain,
  type Json,
  type JsonObject,
} from '@multiplane/apimachinery';
import { v1beta1, convertV1beta1Spec } from './convert-v1beta1-definition.ts';

const currentVersion = 'apiextensions.k8s.io/v1';
/** Fields that are copied from the versions of a CustomResourceDefinition, in the order of an APIResourceSchema. */
const versionFields = [
  'name',
  'served',
  'storage',
  'deprecated',
  'deprecationWarning',
  'schema',
  'subresources',
  'additionalPrinterColumns',
  'selectableFields',
];
/** Groups under which only the Kubernetes community may define kinds; servers require the annotation in them. */
const protectedGroup = /(?:^|\.)(?:k8s|kubernetes)\.io$/;
const approvedAnnotation = 'api-approved.kubernetes.io';
const nameFields = ['plural', 'singular', 'shortNames', 'kind', 'listKind', 'categories'];

/** Converts a CustomResourceDefinition to an APIResourceSchema. Throws for other kinds. */
export function schemaOf(definition: JsonObject, prefix: string): JsonObject {
  const isBeta = definition['apiVersion'] === v1beta1;
  if (definition['kind'] !== 'CustomResourceDefinition' || !(isBeta || definition['apiVersion'] === currentVersion))
    throw new Error(
      `error converting CRD: ${textOf(definition['apiVersion'])} ${textOf(definition['kind'])} is not a CustomResourceDefinition of ${currentVersion}`,
    );
  const spec = isBeta ? convertV1beta1Spec(objectOf(definition['spec'])) : objectOf(definition['spec']);
  const names = objectOf(spec['names']);
  const group = textOf(spec['group']);
  const name = `${prefix}.${textOf(names['plural'])}.${group === '' ? 'core' : group}`;
  const [problem] = validateDns1123Subdomain(name);
  if (problem !== undefined)
    throw new Error(`error converting CRD: ${fieldErrorText(fieldErrors.invalid('metadata.name', name, problem))}`);
  // No other annotation of a definition belongs to its API.
  const approval = protectedGroup.test(group)
    ? objectOf(objectOf(definition['metadata'])['annotations'])[approvedAnnotation]
    : undefined;
  const versions = Array.isArray(spec['versions']) ? spec['versions'].filter(isJsonObject) : [];
  const conversion = objectOf(spec['conversion']);
  return {
    kind: 'APIResourceSchema',
    apiVersion: 'apis.kcp.io/v1alpha1',
    metadata: { name, ...(approval === undefined ? {} : { annotations: { [approvedAnnotation]: approval } }) },
    spec: {
      group,
      names: pickFields(withDefaults(names), nameFields),
      scope: spec['scope'] ?? '',
      versions: versions.map((version) =>
        pickFields(
          {
            ...version,
            schema: objectOf(version['schema'])['openAPIV3Schema'] ?? {},
            subresources: version['subresources'] ?? {},
          },
          versionFields,
        ),
      ),
      conversion: Object.keys(conversion).length === 0 ? { strategy: 'None' } : conversion,
    },
  };
}

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const objectOf = (value: Json | undefined): JsonObject => (value !== undefined && isJsonObject(value) ? value : {});

/** Sets the names that a server defaults for a CustomResourceDefinition, but requires of an APIResourceSchema. */
function withDefaults(names: JsonObject): JsonObject {
  const kind = textOf(names['kind']);
  const singular = textOf(names['singular']) || kind.toLowerCase();
  const listKind = textOf(names['listKind']) || (kind === '' ? '' : `${kind}List`);
  return { ...names, singular, ...(listKind === '' ? {} : { listKind }) };
}

function pickFields(object: JsonObject, fields: readonly string[]): JsonObject {
  return Object.fromEntries(
    fields.filter((field) => object[field] !== undefined).map((field) => [field, object[field] as Json]),
  );
}
