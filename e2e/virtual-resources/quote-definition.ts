import type { JsonObject, KubeObject } from '@multiplane/apimachinery';

export const quoteGroup = 'pricing.example.com';
const names = { plural: 'quotes', singular: 'quote', kind: 'Quote', listKind: 'QuoteList', shortNames: ['qt'] };

/** One version of the kind, as CustomResourceDefinitions and APIResourceSchemas have it. */
const version = (schema: JsonObject): JsonObject => ({
  name: 'v1',
  served: true,
  storage: true,
  additionalPrinterColumns: [
    { name: 'CPUs', type: 'integer', jsonPath: '.spec.cpus' },
    { name: 'Price', type: 'integer', jsonPath: '.status.price' },
  ],
  ...schema,
});
const schema: JsonObject = {
  type: 'object',
  required: ['spec'],
  properties: {
    spec: {
      description: 'What is wanted.',
      type: 'object',
      required: ['cpus'],
      properties: { cpus: { description: 'Number of virtual CPUs.', type: 'integer', minimum: 1 } },
    },
    status: {
      description: 'What it costs.',
      type: 'object',
      properties: {
        price: { description: 'Price per month.', type: 'integer' },
        requestedBy: { description: 'The user who asked last.', type: 'string' },
      },
    },
  },
};

/** For the virtual workspace, which validates, prunes and stores quotes as a server does custom resources. */
export const quoteDefinition: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `quotes.${quoteGroup}` },
  spec: { group: quoteGroup, scope: 'Cluster', names, versions: [version({ schema: { openAPIV3Schema: schema } })] },
  status: { acceptedNames: names },
};

/** For the consumers: discovery, OpenAPI and the columns of tables come from it. */
export const quoteSchema: KubeObject = {
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name: `v1.quotes.${quoteGroup}` },
  spec: { group: quoteGroup, scope: 'Cluster', names, versions: [version({ schema })] },
};
