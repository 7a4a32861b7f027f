import { expect, test } from '@jest/globals';
import { statusErrors, type JsonObject, type Status } from '@multiplane/apimachinery';
import { encodeProtobufObject } from '@multiplane/apis';
import { encodeProtobufStatus } from '@multiplane/generic-server';

const invalid: Status = {
  ...statusErrors.notFound({ group: 'apps', resource: 'deployments' }, 'web').toStatus(),
  details: {
    name: 'web',
    group: 'apps',
    kind: 'Deployment',
    uid: 'u-1',
    causes: [
      { reason: 'FieldValueInvalid', message: 'must be positive', field: 'spec.replicas' },
      { message: 'no field' },
    ],
    retryAfterSeconds: 3,
  },
};

test.each<[string, Status]>([
  ['without details', { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }],
  ['not found', statusErrors.notFound({ group: '', resource: 'pods' }, 'a').toStatus()],
  ['too many requests', statusErrors.tooManyRequests('later', 1).toStatus()],
  ['with causes', invalid],
])('a Status %s is encoded like every other object', (_name, status) => {
  const expected = encodeProtobufObject(status as unknown as JsonObject);
  expect(encodeProtobufStatus(status).toString('base64')).toBe(expected.toString('base64'));
});
