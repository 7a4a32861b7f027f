import { describe, expect, test } from '@jest/globals';
import type { StatusError } from '@multiplane/apimachinery';
import { endpointKinds, negotiate, type EndpointKind, type Negotiated } from './negotiation.ts';

function ask(
  accept: string | undefined,
  kind: EndpointKind = endpointKinds.builtInObject,
  query = '',
  agent?: string,
): Negotiated {
  return negotiate(
    { exchange: { headers: { accept, 'user-agent': agent } }, info: { query: new URLSearchParams(query) } },
    kind,
  );
}
function refusal(accept: string, kind: EndpointKind = endpointKinds.builtInObject): string {
  try {
    ask(accept, kind);
  } catch (error) {
    const { code, reason, message } = error as StatusError;
    expect([code, reason]).toEqual([406, 'NotAcceptable']);
    return message;
  }
  return '';
}

const available =
  '406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf';
const accepted =
  'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';
const watchProtobuf = 'application/vnd.kubernetes.protobuf;stream=watch';
const table = { kind: 'Table', group: 'meta.k8s.io', version: 'v1' };

describe('media types', () => {
  test.each([
    [undefined, 'json'],
    ['', 'json'],
    ['*/*', 'json'],
    ['application/yaml', 'yaml'],
    ['application/json;q=0.1, application/yaml', 'yaml'],
    ['text/html, application/json', 'json'],
    ['application/vnd.kubernetes.protobuf,application/json', 'json'],
    ['application/vnd.kubernetes.protobuf, */*', 'json'],
  ])('%p gives %s', (accept, encoding) => {
    expect(ask(accept)).toMatchObject({ encoding, mediaType: `application/${encoding}`, transform: undefined });
  });

  test.each([
    'application/vnd.kubernetes.protobuf',
    'application/vnd.kubernetes.protobuf;q=0.9, application/json;q=0.8',
    'application/json;q=0.5, application/vnd.kubernetes.protobuf, */*;q=0.1',
    'application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io, application/vnd.kubernetes.protobuf',
  ])('%p gives protobuf', (accept) => {
    expect(ask(accept)).toMatchObject({ encoding: 'protobuf', mediaType: 'application/vnd.kubernetes.protobuf' });
  });
  test.each<[string, EndpointKind, string]>([
    ['application/vnd.kubernetes.protobuf, application/json', endpointKinds.builtInWatch, 'application/json'],
    ['application/vnd.kubernetes.protobuf', endpointKinds.builtInWatch, watchProtobuf],
    ['application/vnd.kubernetes.protobuf;stream=watch', endpointKinds.nativeWatch, watchProtobuf],
    ['application/vnd.kubernetes.protobuf', endpointKinds.nativeObject, 'application/vnd.kubernetes.protobuf'],
    ['application/vnd.kubernetes.protobuf', endpointKinds.customPlain, 'application/vnd.kubernetes.protobuf'],
  ])('%p at %p gives %s', (accept, kind, mediaType) => {
    expect(ask(accept, kind)).toMatchObject({ mediaType });
  });
  test('metadata are sent in the form that comes first', () => {
    const metadata = 'as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
    const both = `application/vnd.kubernetes.protobuf;${metadata}, application/json;${metadata}, application/json`;
    expect(ask(both)).toMatchObject({ encoding: 'protobuf', transform: { kind: 'PartialObjectMetadata' } });
    const reverse = `application/json;${metadata}, application/vnd.kubernetes.protobuf;${metadata}`;
    expect(ask(reverse)).toMatchObject({ encoding: 'json', transform: { kind: 'PartialObjectMetadata' } });
    const one = `application/vnd.kubernetes.protobuf;${metadata}, application/json`;
    expect(ask(one)).toMatchObject({ encoding: 'protobuf', transform: { kind: 'PartialObjectMetadata' } });
  });

  test.each(['application/*', 'text/html', 'application/x-yaml', 'text/yaml', 'nonsense'])(
    'built-in: %p is not there',
    (accept) => {
      expect(refusal(accept)).toBe(available);
    },
  );
  test('errors of lists name more media types', () => {
    expect(refusal('text/html', endpointKinds.builtInList)).toBe(
      `${available}, application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch`,
    );
  });
  test('custom resources have the same error for all shapes', () => {
    expect(refusal('text/html', endpointKinds.customObject)).toBe(accepted);
    expect(refusal('application/vnd.kubernetes.protobuf', endpointKinds.customObject)).toBe(accepted);
    expect(ask('application/*', endpointKinds.customObject).encoding).toBe('json');
  });
  test('watches have no YAML', () => {
    expect(ask('application/json;stream=watch', endpointKinds.builtInWatch).mediaType).toBe('application/json');
    expect(refusal('application/yaml', endpointKinds.builtInWatch)).toBe(
      'only the following media types are accepted: application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch',
    );
  });
});

describe('transforms', () => {
  test('the first clause that the endpoint offers', () => {
    expect(ask('application/json;as=Table;v=v1;g=meta.k8s.io,application/json').transform).toEqual(table);
    expect(ask('application/json;as=Table;v=v1beta1;g=meta.k8s.io').transform).toEqual({
      ...table,
      version: 'v1beta1',
    });
    expect(ask('application/yaml;as=Table;v=v1;g=meta.k8s.io')).toMatchObject({ encoding: 'yaml', transform: table });
    expect(
      ask('application/json;as=Table;v=v1;g=meta.k8s.io,application/json', endpointKinds.builtInPlain).transform,
    ).toBeUndefined();
    expect(
      ask('application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', endpointKinds.customList).transform?.kind,
    ).toBe('PartialObjectMetadataList');
  });
  test.each([
    'as=Nope;v=v1;g=meta.k8s.io',
    'as=Table;v=v9;g=meta.k8s.io',
    'as=Table;v=v1;g=nope',
    'as=Table',
    'v=v1',
    'stream=no',
  ])('alone, %s is refused', (parameters) => {
    expect(refusal(`application/json;${parameters}`)).toBe(accepted);
  });
  test('a kind without columns has no table', () => {
    expect(refusal('application/json;as=Table;v=v1;g=meta.k8s.io', endpointKinds.builtInPlain)).toBe(accepted);
  });
});

describe('pretty printing', () => {
  test.each([
    ['', undefined, false],
    ['pretty=true', undefined, true],
    ['pretty=1', undefined, true],
    ['pretty=t', undefined, true],
    ['pretty=yes', undefined, false],
    ['', 'curl/8', true],
    ['', 'Wget/1', true],
    ['', 'Mozilla/5.0 (X)', true],
    ['', 'kubectl/v1', false],
    ['pretty=false', 'curl/8', false],
    ['pretty=', 'curl/8', true],
  ])('?%s from %s: %s', (query, agent, pretty) => {
    expect(ask('application/json', undefined, query, agent).pretty).toBe(pretty);
  });
  test('by a parameter of Accept', () => {
    expect(ask('application/json;pretty=1').pretty).toBe(true);
    expect(ask('application/json;pretty=0').pretty).toBe(false);
  });
});

test('the cache of results is bounded', () => {
  for (let i = 0; i < 5000; i++) ask(`application/json;q=0.${i}`);
  expect(ask('application/yaml').encoding).toBe('yaml');
});
