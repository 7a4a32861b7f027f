import { isJsonObject, type Json, type JsonObject } from '@multiplane/apimachinery';
import { component, referredComponent } from './components.ts';

/** What a decoder of typed objects knows of a value. */
export type Shape =
  | { readonly type: 'struct'; readonly fields: ReadonlyMap<string, Field> }
  | { readonly type: 'list' | 'map'; readonly item: () => Shape }
  | { readonly type: 'text' | 'number' | 'boolean' | 'bytes' | 'quantity' | 'time' | 'micro-time' | 'any' }
  /** A schema, or a boolean or list of texts in its place: fields that a schema does not know are dropped in it. */
  | { readonly type: 'schema-or-else'; readonly schema: () => Shape };

export interface Field {
  readonly shape: () => Shape;
  /** The zero value is the same as an absent field. */
  readonly dropZero: boolean;
  /** What an absent field is written as; undefined: not at all. */
  readonly zero: Json | undefined;
}

/**
 * Facts about fields that the published schemas lack. Keys are `<component without its group's prefix>.<field>`.
 * An absent optional value and its zero are two things only where the type is a pointer.
 */
const pointerTexts = new Set([
  'admissionregistration.v1.ServiceReference.path',
  'admissionregistration.v1.WebhookClientConfig.url',
  ...['MutatingWebhook', 'ValidatingWebhook'].flatMap((webhook) =>
    ['failurePolicy', 'matchPolicy', 'sideEffects', 'reinvocationPolicy'].map(
      (field) => `admissionregistration.v1.${webhook}.${field}`,
    ),
  ),
  'admissionregistration.v1.RuleWithOperations.scope',
  'admissionregistration.v1.NamedRuleWithOperations.scope',
  'admissionregistration.v1.MatchResources.matchPolicy',
  'admissionregistration.v1.ValidatingAdmissionPolicySpec.failurePolicy',
  'admissionregistration.v1.MutatingAdmissionPolicySpec.failurePolicy',
  'admissionregistration.v1.Validation.reason',
  'admissionregistration.v1.ParamRef.parameterNotFoundAction',
  'apiextensions.v1.CustomResourceDefinitionVersion.deprecationWarning',
  'apiextensions.v1.CustomResourceSubresourceScale.labelSelectorPath',
  'apiextensions.v1.JSONSchemaProps.$ref',
  'apiextensions.v1.JSONSchemaProps.x-kubernetes-list-type',
  'apiextensions.v1.JSONSchemaProps.x-kubernetes-map-type',
  'apiextensions.v1.ServiceReference.path',
  'apiextensions.v1.ValidationRule.reason',
  'apiextensions.v1.WebhookClientConfig.url',
  'coordination.v1.LeaseSpec.holderIdentity',
  'coordination.v1.LeaseSpec.preferredHolder',
  'coordination.v1.LeaseSpec.strategy',
  'meta.v1.DeleteOptions.propagationPolicy',
  'meta.v1.Preconditions.resourceVersion',
  'meta.v1.Preconditions.uid',
]);

/** Numbers and booleans whose zero means absent; all others are pointers or always written. */
const plainScalars = new Set([
  'admissionregistration.v1.ValidatingAdmissionPolicyStatus.observedGeneration',
  'apiextensions.v1.CustomResourceColumnDefinition.priority',
  'apiextensions.v1.CustomResourceDefinitionCondition.observedGeneration',
  'apiextensions.v1.CustomResourceDefinitionSpec.preserveUnknownFields',
  'apiextensions.v1.CustomResourceDefinitionStatus.observedGeneration',
  'apiextensions.v1.CustomResourceDefinitionVersion.deprecated',
  ...['exclusiveMaximum', 'exclusiveMinimum', 'nullable', 'uniqueItems'].map(
    (field) => `apiextensions.v1.JSONSchemaProps.${field}`,
  ),
  'apiextensions.v1.JSONSchemaProps.x-kubernetes-embedded-resource',
  'apiextensions.v1.JSONSchemaProps.x-kubernetes-int-or-string',
  'authentication.v1.TokenReviewStatus.authenticated',
  'authorization.v1.SubjectAccessReviewStatus.denied',
  'core.v1.Event.count',
  'core.v1.EventSeries.count',
  'events.v1.Event.deprecatedCount',
  'flowcontrol.v1.ResourcePolicyRule.clusterScope',
  'meta.v1.Condition.observedGeneration',
  'meta.v1.ObjectMeta.generation',
]);

/** Lists and times that are written as null when there is nothing to write. */
const nullWhenEmpty = new Set([
  'apiextensions.v1.CustomResourceDefinitionCondition.lastTransitionTime',
  'apiextensions.v1.CustomResourceDefinitionSpec.versions',
  'apiextensions.v1.WebhookConversion.conversionReviewVersions',
  'authentication.v1.TokenRequestSpec.audiences',
  'authentication.v1.TokenRequestSpec.boundObjectRef',
  'authentication.v1.TokenRequestStatus.expirationTimestamp',
  'authorization.v1.NonResourceRule.verbs',
  'authorization.v1.ResourceRule.verbs',
  'authorization.v1.SubjectRulesReviewStatus.nonResourceRules',
  'authorization.v1.SubjectRulesReviewStatus.resourceRules',
  'admissionregistration.v1.MutatingWebhook.admissionReviewVersions',
  'admissionregistration.v1.ValidatingWebhook.admissionReviewVersions',
  'certificates.v1.CertificateSigningRequestCondition.lastTransitionTime',
  'certificates.v1.CertificateSigningRequestCondition.lastUpdateTime',
  'certificates.v1.CertificateSigningRequestSpec.request',
  'core.v1.Event.eventTime',
  'core.v1.Event.firstTimestamp',
  'core.v1.Event.lastTimestamp',
  'core.v1.EventSeries.lastObservedTime',
  'core.v1.LimitRangeSpec.limits',
  'core.v1.NamespaceCondition.lastTransitionTime',
  'events.v1.Event.deprecatedFirstTimestamp',
  'events.v1.Event.deprecatedLastTimestamp',
  'events.v1.Event.eventTime',
  'events.v1.EventSeries.lastObservedTime',
  'flowcontrol.v1.FlowSchemaCondition.lastTransitionTime',
  'flowcontrol.v1.NonResourcePolicyRule.nonResourceURLs',
  'flowcontrol.v1.NonResourcePolicyRule.verbs',
  'flowcontrol.v1.PolicyRulesWithSubjects.subjects',
  'flowcontrol.v1.PriorityLevelConfigurationCondition.lastTransitionTime',
  'flowcontrol.v1.ResourcePolicyRule.apiGroups',
  'flowcontrol.v1.ResourcePolicyRule.resources',
  'flowcontrol.v1.ResourcePolicyRule.verbs',
  'meta.v1.Condition.lastTransitionTime',
  'rbac.v1.ClusterRole.rules',
  'rbac.v1.PolicyRule.verbs',
  'rbac.v1.Role.rules',
]);

/** Fields whose published default is their zero value, which is left out all the same. */
const omittedDefaults = new Set(['core.v1.LocalObjectReference.name']);

const special: Readonly<Record<string, Shape>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: 'quantity' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': { type: 'time' },
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': { type: 'micro-time' },
  ...Object.fromEntries(
    ['JSONSchemaPropsOrArray', 'JSONSchemaPropsOrBool', 'JSONSchemaPropsOrStringArray'].map((name) => [
      `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.${name}`,
      { type: 'schema-or-else', schema: () => shapeOf(jsonSchemaComponent) } as const,
    ]),
  ),
};
const jsonSchemaComponent = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps';

const shapes = new Map<string, Shape>();

/** The shape of a component; made once. Components may refer to each other in circles. */
export function shapeOf(name: string): Shape {
  const known = special[name] ?? shapes.get(name);
  if (known !== undefined) return known;
  const schema = component(name);
  if (schema === undefined) throw new TypeError(`no schema component ${name}`);
  const shape = shapeOfSchema(schema, name);
  shapes.set(name, shape);
  return shape;
}

function shapeOfSchema(schema: JsonObject, name: string): Shape {
  const referred = referredComponent(schema);
  if (referred !== undefined) return shapeOf(referred);
  switch (schema['type']) {
    case 'string':
      return { type: schema['format'] === 'byte' ? 'bytes' : 'text' };
    case 'integer':
    case 'number':
      return { type: 'number' };
    case 'boolean':
      return { type: 'boolean' };
    case 'array':
      return { type: 'list', item: lazily(() => shapeOfSchema(childSchema(schema, 'items'), name)) };
    case 'object': {
      if (isJsonObject(schema['properties'])) return { type: 'struct', fields: fieldsOf(name, schema['properties']) };
      if (isJsonObject(schema['additionalProperties'])) {
        return { type: 'map', item: lazily(() => shapeOfSchema(childSchema(schema, 'additionalProperties'), name)) };
      }
      return { type: 'any' };
    }
    default:
      return { type: 'any' };
  }
}

const childSchema = (schema: JsonObject, key: string): JsonObject => {
  const child = schema[key];
  return isJsonObject(child) ? child : {};
};

/** `io.k8s.api.core.v1.Event` → `core.v1.Event`. */
const shortName = (name: string): string => name.split('.').slice(-3).join('.');

function fieldsOf(name: string, properties: JsonObject): ReadonlyMap<string, Field> {
  const fields = new Map<string, Field>();
  for (const [field, property] of Object.entries(properties)) {
    if (!isJsonObject(property)) continue;
    const key = `${shortName(name)}.${field}`;
    const omitted = omittedDefaults.has(key);
    const zero = nullWhenEmpty.has(key) ? null : omitted ? undefined : property['default'];
    const shape = lazily(() => shapeOfSchema(property, name));
    fields.set(field, { shape, zero, dropZero: dropsZero(key, property) });
  }
  return fields;
}

/** Empty texts, lists and maps are absent fields, zeros and false only where they are no pointers. */
function dropsZero(key: string, property: JsonObject): boolean {
  if (omittedDefaults.has(key)) return true;
  // A pointer to an empty structure is not the same as none.
  if (nullWhenEmpty.has(key)) return property['type'] !== undefined;
  if (property['default'] !== undefined) return false;
  switch (property['type']) {
    case 'string':
      return !pointerTexts.has(key);
    case 'integer':
    case 'number':
    case 'boolean':
      return plainScalars.has(key);
    case 'array':
      return true;
    case 'object':
      return true;
    default:
      return false;
  }
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}
