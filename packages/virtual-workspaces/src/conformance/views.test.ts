import { eventually } from '@multiplane/testing';
import { SeparateViews } from '../test-support/separate-views.ts';
import { viewConformance } from './view-conformance.ts';
import { embeddedViews } from './view-host.ts';

const patiently = (attempt: () => void | Promise<void>): Promise<void> => eventually(attempt, { timeout: 15_000 });

viewConformance('inside the shard', { start: embeddedViews, eventually: patiently });
viewConformance('in a server of their own', {
  start: (shard) => SeparateViews.start(shard),
  eventually: patiently,
});
