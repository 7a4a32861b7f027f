import { encodeYaml } from '../../../packages/apimachinery/src/index.ts';
import type { Step } from '../../../e2e/conformance/scenario.ts';
import { collectionPath, kinds, objectOf } from '../kinds.ts';
import type { Body } from '../grammar.ts';
import { mutated, protobufBody } from '../mutations.ts';
import type { Random } from '../random.ts';
import type { Topic } from '../topic.ts';
import { quietKinds, threeObjects } from './reads.ts';

const accepts = [
  'application/json',
  'application/yaml',
  'application/json;as=Table;g=meta.k8s.io;v=v1',
  'application/json;as=Table;g=meta.k8s.io;v=v1beta1',
  'application/json;as=Table;g=meta.k8s.io;v=v2',
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1',
  'application/json;as=x;g=meta.k8s.io;v=v1',
  'application/json;as=Table;g=meta.k8s.io;v=v1,application/json',
  'application/xml',
  'application/xml,*/*;q=0.1',
  'text/html',
  '*/*',
  'application/*',
  '',
  'application/json;q=0',
  'application/json;pretty=1',
  'application/json;stream=watch',
  'application/yaml;as=Table;g=meta.k8s.io;v=v1',
  'application/json;charset=utf-8',
  'application/cbor',
  'x',
  'application/vnd.kubernetes.protobuf',
  'application/vnd.kubernetes.protobuf,application/json',
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
  'application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
  'application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1,application/json',
  'application/json;q=0.5,application/yaml',
  'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1beta1,application/json;q=0.3',
];
const contentTypes = [
  'application/json',
  'application/yaml',
  'application/json; charset=utf-8',
  'text/plain',
  'application/xml',
  '',
  'x',
  'application/merge-patch+json',
  'application/vnd.kubernetes.protobuf',
  'application/cbor',
  'application/json-patch+json',
];

const columns = Array.from({ length: 14 }, (_, index) => `/columnDefinitions/${index}/description`);

function request(random: Random, collection: string, name: string, valid: Body): Step {
  const one = mutated(random, valid, random.chance(0.8) ? 0 : 1);
  const accept = random.pick(accepts);
  const query = random.pick([
    '',
    '',
    '',
    'includeObject=None',
    'includeObject=Object',
    'includeObject=Metadata',
    'includeObject=x',
    'pretty=true',
  ]);
  const scope = 'labelSelector=run%3D{{run}}';
  const headers = { accept };
  const common = { headers, yaml: true, ignore: columns };
  return random.weighted<() => Step>([
    [4, () => ({ ...common, path: `${collection}?${scope}${query === '' ? '' : `&${query}`}` })],
    [4, () => ({ ...common, path: `${collection}/${name}${query === '' ? '' : `?${query}`}` })],
    [1, () => ({ ...common, path: `${collection}/none` })],
    [
      3,
      () => ({
        ...common,
        method: random.pick(['POST', 'PUT', 'PATCH']),
        path: random.chance(0.5) ? collection : `${collection}/${name}`,
        headers: { accept, 'content-type': random.pick(contentTypes) },
        ...(random.chance(0.5) ? { body: one } : { bodyText: encodeYaml(one) }),
      }),
    ],
    [1, () => ({ ...common, method: 'DELETE', path: `${collection}/${name}` })],
    [1, () => protobufRequest(random, collection, accept, valid)],
    [1, () => ({ ...common, path: `${collection}?${scope}&watch=true&timeoutSeconds=1`, ...watchOnly })],
  ])();
}
function protobufRequest(random: Random, collection: string, accept: string, object: Body): Step {
  const body = protobufBody(random, object);
  return {
    ...body,
    method: 'POST',
    path: collection,
    headers: { ...body.headers, accept },
    yaml: true,
    ignore: columns,
  };
}
// The stream as a whole is no JSON; that it is served, and as what, is compared here, its events in `watches`.
const watchOnly: Partial<Step> = { only: [] };

const yamlBodies = [
  'a: b: c',
  '- a',
  '"x"',
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\ndata:\n  a: 1\n',
  'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\ndata: {a: yes}\n',
  'apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: y}\ndata: {a: "1"}\n',
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n  name: z\n',
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n---\napiVersion: v1\n',
  '\tx',
  '!!binary YQ==',
  'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\nbinaryData:\n  a: !!binary YQ==\n',
  '%YAML 1.2\n---\na: b',
  '# nothing',
];

/** Media types of requests and responses, Table and PartialObjectMetadata, YAML bodies. */
export const negotiation: Topic = {
  name: 'negotiation',
  steps(random) {
    const kind = random.pick(quietKinds);
    const steps = threeObjects(random, kind);
    const collection = collectionPath(kind);
    for (let count = 4 + random.int(4); count > 0; count--) {
      const name = kind.isNamespaced ? random.pick(['a', 'b']) : random.pick(['a-{{run}}', 'b-{{run}}']);
      const one = objectOf(random, kind, kind.isNamespaced ? 'd' : 'd-{{run}}');
      steps.push(request(random, collection, name, one));
    }
    if (kind.isNamespaced && random.chance(0.4))
      steps.push({
        method: 'POST',
        path: `${collectionPath(kinds[0] as (typeof kinds)[0])}?fieldValidation=${random.pick(['Strict', 'Warn', 'Ignore'])}`,
        headers: { 'content-type': 'application/yaml' },
        bodyText: random.pick(yamlBodies),
      });
    return steps;
  },
};
