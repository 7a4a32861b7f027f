import type { Topic } from '../topic.ts';
import { access } from './access.ts';
import { customResources } from './custom-resources.ts';
import { definitionChanges } from './definition-changes.ts';
import { deletes } from './deletes.ts';
import { documents } from './documents.ts';
import { kcpTopics } from './kcp-topics.ts';
import { negotiation } from './negotiation.ts';
import { apply, patches } from './patches.ts';
import { policies } from './policies.ts';
import { reads, watches } from './reads.ts';
import { subresources } from './subresources.ts';
import { writes } from './writes.ts';

/** Every topic, in the order of the report; those of kcp need a kcp as the reference. */
export const topics: readonly Topic[] = [
  writes,
  patches,
  apply,
  deletes,
  reads,
  watches,
  subresources,
  customResources,
  definitionChanges,
  policies,
  access,
  negotiation,
  documents,
  ...kcpTopics,
];
