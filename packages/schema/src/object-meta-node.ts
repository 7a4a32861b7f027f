import type { JsonObject } from '@multiplane/apimachinery';
import { SchemaCompiler } from './schema-compiler.ts';
import type { SchemaNode } from './schema-node.ts';

const text: JsonObject = { type: 'string' };
const time: JsonObject = { type: 'string', format: 'date-time' };
const texts: JsonObject = { type: 'object', additionalProperties: { type: 'string' } };
const free: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

/** The fields of metav1.ObjectMeta as a schema. */
export const objectMetaSchema: JsonObject = {
  type: 'object',
  properties: {
    name: text,
    generateName: text,
    namespace: text,
    selfLink: text,
    uid: text,
    resourceVersion: text,
    generation: { type: 'integer', format: 'int64' },
    creationTimestamp: time,
    deletionTimestamp: time,
    deletionGracePeriodSeconds: { type: 'integer', format: 'int64' },
    labels: texts,
    annotations: texts,
    finalizers: { type: 'array', items: text, 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' },
    ownerReferences: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['uid'],
      'x-kubernetes-patch-strategy': 'merge',
      'x-kubernetes-patch-merge-key': 'uid',
      items: {
        type: 'object',
        'x-kubernetes-map-type': 'atomic',
        properties: {
          apiVersion: text,
          kind: text,
          name: text,
          uid: text,
          controller: { type: 'boolean' },
          blockOwnerDeletion: { type: 'boolean' },
        },
      },
    },
    managedFields: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          manager: text,
          operation: text,
          apiVersion: text,
          time,
          fieldsType: text,
          fieldsV1: free,
          subresource: text,
        },
      },
    },
  },
};

let node: SchemaNode | undefined;

/** {@link objectMetaSchema}, compiled once. */
export function objectMetaNode(): SchemaNode {
  if (node === undefined) {
    node = new SchemaCompiler({ origin: 'custom' }).compile(objectMetaSchema);
    // Messages of decoders name Go's types.
    for (const [field, type] of [
      ['ownerReferences', 'OwnerReference'],
      ['managedFields', 'ManagedFieldsEntry'],
    ] as const) {
      const items = node.properties?.get(field)?.items;
      if (items !== undefined) items.definition = `v1.${type}`;
    }
  }
  return node;
}
