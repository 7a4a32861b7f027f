import { expect, test } from '@jest/globals';
import { eventLoopIdle } from '@multiplane/testing';
import { Pipeline } from '../../test/pipeline.ts';
import { admissionForbidden } from '../admission/forbidden.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('admission sees the objects of a deleted collection, but no names in the request', async () => {
  const seen: string[] = [];
  const pipeline = await Pipeline.open({
    plugins: [
      {
        name: 'Recorder',
        handles: (operation) => operation === 'DELETE',
        validate: async (attributes) => {
          seen.push(`${attributes.name}/${attributes.oldObject?.metadata.name}`);
          if (attributes.oldObject?.metadata.labels?.['keep'] !== undefined)
            throw admissionForbidden(attributes, 'kept');
        },
      },
    ],
  });
  await pipeline.must(201, 'POST', maps, { metadata: { name: 'a' } });
  await pipeline.must(201, 'POST', maps, { metadata: { name: 'b', labels: { keep: '1' } } });
  await eventLoopIdle();
  const refused = await pipeline.must(403, 'DELETE', maps);
  expect(refused['message']).toBe('configmaps "Unknown" is forbidden: kept');
  await pipeline.must(403, 'DELETE', `${maps}/b`);
  expect(seen).toEqual(['/a', '/b', 'b/b']);
  await pipeline.close();
});
