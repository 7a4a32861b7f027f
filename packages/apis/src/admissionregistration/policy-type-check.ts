import {
  getOwn,
  isJsonObject,
  setOwn,
  type DeepReadonly,
  type Json,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';
import { schemaType, type CelType } from '@multiplane/schema';
import { listAt, textsAt } from '../fields.ts';
import type { ResourceDefinition } from '../resource-definition.ts';
import { resolveComponent } from '../schemas/components.ts';
import type { AdmissionExpression } from './admission-expressions.ts';
import { compilePolicy, hasManyExpressions } from './policy-expressions.ts';

/** What the types of a kind have against an expression. */
export interface ExpressionWarning {
  readonly fieldRef: string;
  readonly warning: string;
}

/** Kinds that one policy is checked against. */
const maxKinds = 10;
/** Deeper, and below what refers to itself, nothing is known. */
const maxDepth = 24;

/**
 * Checks the validations of a policy against the schemas of the kinds that its rules name without wildcards. At run
 * time objects have no types, so what is found is a warning: a field that is not there will be an error of each request.
 * Policies with very many expressions are not looked at.
 */
export async function policyTypeWarnings(
  policy: DeepReadonly<KubeObject>,
  served: readonly ResourceDefinition[],
  /** Called between one piece of work and the next. */
  pause: () => Promise<void> = async () => undefined,
): Promise<ExpressionWarning[]> {
  if (hasManyExpressions(policy)) return [];
  const warnings = new Map<string, string>();
  for (const definition of namedKinds(policy, served)) {
    const type = objectType(definition);
    if (type === undefined) continue;
    const { group, version, kind } = definition;
    const note = (fieldRef: string, expression: AdmissionExpression | undefined): void => {
      const prefix = 'compilation failed: ';
      if (expression?.problem?.startsWith(prefix) !== true) return;
      const text = `${group}/${version}, Kind=${kind}: ${expression.problem.slice(prefix.length)}\n`;
      warnings.set(fieldRef, (warnings.get(fieldRef) ?? '') + text);
    };
    for (const [index, validation] of compilePolicy(policy, type).validations.entries()) {
      note(`spec.validations[${index}].expression`, validation.expression);
      note(`spec.validations[${index}].messageExpression`, validation.messageExpression);
      await pause();
    }
  }
  return Array.from(warnings, ([fieldRef, warning]) => ({ fieldRef, warning }));
}

function namedKinds(policy: DeepReadonly<KubeObject>, served: readonly ResourceDefinition[]): ResourceDefinition[] {
  const kinds = new Set<ResourceDefinition>();
  for (const rule of listAt(policy, 'spec', 'matchConstraints', 'resourceRules')) {
    const [groups, versions, resources] = ['apiGroups', 'apiVersions', 'resources'].map(
      (field) => new Set(textsAt(rule, field)),
    ) as [Set<string>, Set<string>, Set<string>];
    for (const definition of served) {
      if (kinds.size >= maxKinds) break;
      const { group, version, resource } = definition;
      if (groups.has(group) && versions.has(version) && resources.has(resource)) kinds.add(definition);
    }
  }
  return [...kinds];
}

/** The type of an object as clients see it, with all of its metadata. */
function objectType(definition: ResourceDefinition): CelType | undefined {
  const { source } = definition.schema;
  const inlined = inline(source, new Set(), 0);
  const properties = getOwn(inlined, 'properties');
  const text = { type: 'string' };
  const metadata = inline(
    { $ref: '#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    new Set(),
    0,
  );
  const whole: JsonObject = {
    ...inlined,
    type: 'object',
    properties: { ...(isJsonObject(properties) ? properties : {}), apiVersion: text, kind: text, metadata },
  };
  return schemaType(whole, false)?.type;
}

const unknown: JsonObject = { 'x-kubernetes-int-or-string': true };

/** A schema with what it refers to in its place. */
function inline(schema: JsonObject, under: ReadonlySet<string>, depth: number): JsonObject {
  const ref = referenceOf(schema);
  if (ref !== undefined) {
    const target = under.has(ref) || depth > maxDepth ? undefined : resolveComponent(ref);
    return target === undefined ? unknown : inline(target, new Set([...under, ref]), depth + 1);
  }
  if (depth > maxDepth || getOwn(schema, 'format') === 'int-or-string') return unknown;
  const result: JsonObject = { ...schema };
  for (const key of ['items', 'additionalProperties']) {
    const child = getOwn(schema, key);
    if (isJsonObject(child)) result[key] = inline(child, under, depth + 1);
  }
  const properties = getOwn(schema, 'properties');
  if (isJsonObject(properties)) {
    const inlined: JsonObject = {};
    for (const name of Object.keys(properties)) {
      const property = properties[name] as Json;
      setOwn(inlined, name, isJsonObject(property) ? inline(property, under, depth + 1) : property);
    }
    result['properties'] = inlined;
  }
  return result;
}

/** What a schema refers to, directly or in an `allOf` beside a description. */
function referenceOf(schema: JsonObject): string | undefined {
  const direct = getOwn(schema, '$ref');
  if (typeof direct === 'string') return direct;
  const all = getOwn(schema, 'allOf');
  const [only, more] = Array.isArray(all) ? all : [];
  const ref = more === undefined && isJsonObject(only) ? getOwn(only, '$ref') : undefined;
  return typeof ref === 'string' ? ref : undefined;
}
