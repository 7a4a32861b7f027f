import { describe, expect, test } from '@jest/globals';
import type { Json, JsonObject, KubeObject } from '@multiplane/apimachinery';
import fc from 'fast-check';
import type { VersionConverter } from '../resource-definition.ts';
import { bindingConversion, exportConversion } from './sharing-conversion.ts';

const object = (spec: JsonObject, annotations?: Record<string, string>, status?: JsonObject): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'X',
  metadata: { name: 'x', ...(annotations === undefined ? {} : { annotations }) },
  spec,
  ...(status === undefined ? {} : { status }),
});
const stored = (converter: VersionConverter, input: KubeObject): KubeObject => {
  const copy = structuredClone(input);
  converter.toStorage(copy);
  return copy;
};
const old = (converter: VersionConverter, input: KubeObject): KubeObject => {
  const copy = structuredClone(input);
  converter.fromStorage(copy);
  return copy;
};

test.each([exportConversion, bindingConversion])('what is converted has a spec and a status', (converter) => {
  const bare = { apiVersion: 'apis.kcp.io/v1alpha1', kind: 'X', metadata: { name: 'x' } };
  expect(stored(converter, bare)).toMatchObject({ spec: {}, status: {} });
  expect(old(converter, bare)).toMatchObject({ spec: {}, status: {} });
});

const name = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/);
const group = fc.oneof(fc.constant(''), fc.constant('example.dev'), fc.constant('sub.example.dev'));
const verbs: fc.Arbitrary<string[]> = fc.oneof(
  fc.constant<string[]>(['*']),
  fc.uniqueArray(fc.constantFrom('get', 'list', 'watch'), { minLength: 1 }),
);
const selector = fc.oneof(fc.constant({ matchAll: true }), fc.constant({ matchLabels: { a: 'b' } }));
const claim: fc.Arbitrary<Record<string, Json>> = fc.record({
  group,
  resource: name,
  verbs,
  identityHash: fc.constantFrom('', 'abc'),
});
const claims = fc.uniqueArray(claim, {
  selector: ({ group: g, resource, identityHash }) => JSON.stringify([g, resource, identityHash]),
  maxLength: 4,
  minLength: 1,
});
const plainClaim = ({ group: g, identityHash, ...rest }: JsonObject): JsonObject => ({
  ...(g === '' ? {} : { group: g as string }),
  ...(identityHash === '' ? {} : { identityHash: identityHash as string }),
  ...rest,
});
const withoutEmpty = (input: KubeObject): KubeObject => {
  const copy = structuredClone(input);
  for (const part of ['spec', 'status']) {
    if (Object.keys((copy[part] as JsonObject | undefined) ?? {}).length === 0) delete copy[part];
    const holder = copy[part] as Record<string, JsonObject[]> | undefined;
    for (const field of Object.keys(holder ?? {}).filter((key) => key.endsWith('ermissionClaims')))
      (holder as Record<string, JsonObject[]>)[field] = (holder?.[field] ?? []).map(plainClaim);
  }
  // What a client wrote in v1alpha1 is remembered from the first time on.
  for (const key of Object.keys(copy.metadata.annotations ?? {}))
    if (key.includes('v1alpha1-')) delete copy.metadata.annotations?.[key];
  if (Object.keys(copy.metadata.annotations ?? {}).length === 0) delete copy.metadata.annotations;
  return copy;
};

describe('an export', () => {
  test('of v1alpha1 is stored with resources taken from the names of its schemas', () => {
    const { spec, metadata } = stored(
      exportConversion,
      object({
        latestResourceSchemas: ['v1.widgets.example.dev', 'v1.pods.core'],
        permissionClaims: [{ resource: 'configmaps', all: true }],
      }),
    );
    expect(spec).toEqual({
      resources: [
        { group: 'example.dev', name: 'widgets', schema: 'v1.widgets.example.dev', storage: { crd: {} } },
        { group: '', name: 'pods', schema: 'v1.pods.core', storage: { crd: {} } },
      ],
      permissionClaims: [{ resource: 'configmaps', verbs: ['*'] }],
    });
    expect(metadata.annotations).toEqual({
      'apis.v1alpha2.kcp.io/v1alpha1-permission-claims': '[{"resource":"configmaps","all":true}]',
    });
  });

  test('with a schema that is not named so is refused', () => {
    expect(() => stored(exportConversion, object({ latestResourceSchemas: ['widgets'] }))).toThrow(
      'invalid schema "widgets": must have at least 3 dot-separated segments',
    );
    expect(() => stored(exportConversion, object({ latestResourceSchemas: ['\u00011.0'] }))).toThrow(
      String.raw`invalid schema "\x011.0": must have`,
    );
  });

  test('annotations that cannot be read stay, for admission to refuse them', () => {
    const input = object({}, { 'apis.v1alpha2.kcp.io/resource-schemas': 'not json' });
    expect(stored(exportConversion, input).metadata.annotations).toEqual(input.metadata.annotations);
  });

  test('read in v1alpha1 every claim says what it takes, so that it can be written back (in kcp it cannot)', () => {
    fc.assert(
      fc.property(claims, (permissionClaims) => {
        const spec = old(exportConversion, object({ permissionClaims }))['spec'] as { permissionClaims: JsonObject[] };
        const unsaid = spec.permissionClaims.filter(
          ({ all, resourceSelector }) => (all === true) === (resourceSelector !== undefined),
        );
        expect(unsaid).toEqual([]);
      }),
    );
  });

  test('nothing is lost from v1alpha2 to v1alpha1 and back', () => {
    const resources = fc.uniqueArray(
      fc.record({
        name,
        group: fc.constantFrom('example.dev', 'sub.example.dev'),
        kind: fc.boolean(),
      }),
      { selector: ({ name: n, group: g }) => `${n}.${g}`, maxLength: 4 },
    );
    fc.assert(
      fc.property(claims, resources, selector, (list, names, defaultSelector) => {
        const input = object({
          permissionClaims: list.map((entry, i) => (i === 0 ? { ...entry, defaultSelector } : entry)) as JsonObject[],
          ...(names.length === 0
            ? {}
            : {
                resources: [...names]
                  .sort((a, b) => Number(a.kind) - Number(b.kind))
                  .map(({ name: n, group: g, kind }) => ({
                    name: n,
                    group: g,
                    schema: `v1.${n}.${g}`,
                    storage: kind ? { virtual: { identityHash: 'h' } } : { crd: {} },
                  })),
              }),
        });
        expect(withoutEmpty(stored(exportConversion, old(exportConversion, input)))).toEqual(withoutEmpty(input));
      }),
    );
  });
});

/** Claims as v1alpha1 has them. */
const oldClaim = fc.oneof(
  fc.record({ resource: name, all: fc.constant(true) }),
  fc.record({
    resource: name,
    resourceSelector: fc.array(
      fc.oneof(fc.record({ name }), fc.record({ namespace: name }), fc.record({ name, namespace: name })),
      { minLength: 1, maxLength: 3 },
    ),
  }),
);
const oldClaims = fc.uniqueArray(
  fc
    .tuple(oldClaim, fc.constantFrom({}, { group: 'example.dev' }), fc.constantFrom({}, { identityHash: 'abc' }))
    .map(([what, whose, which]): JsonObject => ({ ...what, ...whose, ...which })),
  {
    selector: ({ group: g, resource, identityHash }) => JSON.stringify([g, resource, identityHash]),
    minLength: 1,
    maxLength: 4,
  },
);

describe('what was written in v1alpha1 is read in v1alpha1 as it was written', () => {
  test('an export', () => {
    const schemas = fc.uniqueArray(
      fc
        .tuple(name, name, fc.constantFrom('core', 'example.dev', 'sub.example.dev'))
        .map(([prefix, plural, ofGroup]) => `${prefix}.${plural}.${ofGroup}`),
      { minLength: 1, maxLength: 4 },
    );
    fc.assert(
      fc.property(oldClaims, schemas, fc.boolean(), (permissionClaims, latestResourceSchemas, policy) => {
        const input = object(
          {
            identity: { secretRef: { name: 'n', namespace: 'ns' } },
            latestResourceSchemas,
            permissionClaims,
            ...(policy ? { maximalPermissionPolicy: { local: {} } } : {}),
          },
          { mine: 'kept' },
          { identityHash: 'h' },
        );
        expect(old(exportConversion, stored(exportConversion, input))).toEqual(input);
      }),
    );
  });

  test('a binding', () => {
    fc.assert(
      fc.property(oldClaims, fc.constantFrom('Accepted', 'Rejected'), (claimed, state) => {
        const input = object(
          { reference: { export: { name: 'e' } }, permissionClaims: claimed.map((entry) => ({ ...entry, state })) },
          { mine: 'kept' },
          { phase: 'Bound', exportPermissionClaims: claimed, appliedPermissionClaims: claimed },
        );
        expect(old(bindingConversion, stored(bindingConversion, input))).toEqual(input);
      }),
    );
  });
});

describe('a binding', () => {
  test('nothing is lost from v1alpha2 to v1alpha1 and back, nor the other way round', () => {
    fc.assert(
      fc.property(claims, selector, (list, chosen) => {
        const bound = list.map((entry) => ({ ...entry, selector: chosen }));
        const input = object(
          { permissionClaims: bound.map((entry) => ({ ...entry, state: 'Accepted' })) as JsonObject[] },
          undefined,
          { exportPermissionClaims: list as JsonObject[], appliedPermissionClaims: bound as JsonObject[] },
        );
        expect(withoutEmpty(stored(bindingConversion, old(bindingConversion, input)))).toEqual(withoutEmpty(input));
      }),
    );
    const written = object({
      permissionClaims: [
        { resource: 'configmaps', all: true, state: 'Accepted' },
        { resource: 'secrets', resourceSelector: [{ namespace: 'default' }], state: 'Rejected' },
      ],
    });
    expect(old(bindingConversion, stored(bindingConversion, written))).toEqual({ ...written, status: {} });
  });
});
