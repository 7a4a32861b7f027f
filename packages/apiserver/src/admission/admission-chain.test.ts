import { describe, expect, test } from '@jest/globals';
import { yieldToEventLoop } from '@multiplane/component-base';
import type { LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import { builtInResources } from '@multiplane/apis';
import { loopbackUser } from '../loopback/loopback-user.ts';
import { AdmissionChain } from './admission-chain.ts';
import type { AdmissionAttributes, AdmissionPlugin } from './plugin.ts';

const definitionOf = (resource: string): ResourceDefinition =>
  builtInResources().find((one) => one.group === '' && one.resource === resource) as ResourceDefinition;
const configMaps = definitionOf('configmaps');
const secrets = definitionOf('secrets');

const attributesOf = (
  definition: ResourceDefinition,
  operation: AdmissionAttributes['operation'] = 'CREATE',
): AdmissionAttributes => ({
  operation,
  definition,
  subresource: '',
  cluster: 'root' as LogicalClusterName,
  namespace: 'default',
  name: 'x',
  user: loopbackUser,
  object: { apiVersion: 'v1', kind: definition.kind, metadata: { name: 'x' } },
  oldObject: undefined,
  options: {},
  dryRun: false,
  warn: () => undefined,
});

function recorded(name: string, calls: string[], more: Partial<AdmissionPlugin> = {}): AdmissionPlugin {
  return {
    name,
    handles: () => true,
    admit: () => void calls.push(`${name} admits`),
    validate: () => Promise.resolve(void calls.push(`${name} validates`)),
    ...more,
  };
}

describe('AdmissionChain', () => {
  test('calls relevant plugins in order, synchronous or not', async () => {
    const calls: string[] = [];
    const validator = recorded('validator', calls);
    delete validator.admit;
    const chain = new AdmissionChain([
      recorded('secrets', calls, { concerns: ({ resource }) => resource === 'secrets' }),
      recorded('slow', calls, {
        admit: async () => {
          await yieldToEventLoop();
          calls.push('slow admits');
        },
      }),
      recorded('creates', calls, { handles: (operation) => operation === 'CREATE' }),
      validator,
    ]);
    const ask = async (attributes: AdmissionAttributes): Promise<string[]> => {
      calls.length = 0;
      await chain.admit(attributes);
      await chain.validate(attributes);
      return [...calls];
    };
    const of = (names: readonly string[], what: string): string[] => names.map((name) => `${name} ${what}`);
    const expected = (mutating: readonly string[], validating: readonly string[]): string[] => [
      ...of(mutating, 'admits'),
      ...of(validating, 'validates'),
    ];
    for (let again = 0; again < 2; again++) {
      expect(await ask(attributesOf(configMaps))).toEqual(
        expected(['slow', 'creates'], ['slow', 'creates', 'validator']),
      );
      expect(await ask(attributesOf(secrets, 'UPDATE'))).toEqual(
        expected(['secrets', 'slow'], ['secrets', 'slow', 'validator']),
      );
      expect(await ask(attributesOf(configMaps, 'DELETE'))).toEqual(expected(['slow'], ['slow', 'validator']));
    }
  });

  test('ends with the first error, thrown or rejected', async () => {
    for (const refuse of [
      () => Promise.reject(new Error('no')),
      () => {
        throw new Error('no');
      },
    ]) {
      const calls: string[] = [];
      const chain = new AdmissionChain([
        recorded('first', calls),
        recorded('refusing', calls, { admit: refuse, validate: refuse }),
        recorded('last', calls),
      ]);
      await expect((async () => chain.admit(attributesOf(configMaps)))()).rejects.toThrow('no');
      await expect((async () => chain.validate(attributesOf(configMaps)))()).rejects.toThrow('no');
      expect(calls).toEqual(['first admits', 'first validates']);
    }
  });
});
