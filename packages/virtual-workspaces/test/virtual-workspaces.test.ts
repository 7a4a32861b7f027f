import { eventually } from '@multiplane/testing';
import { StandaloneServer } from './standalone-server.ts';
import { virtualWorkspaceConformance } from './virtual-workspace-conformance.ts';
import { embeddedHost } from './virtual-workspace-host.ts';

const retry = (attempt: () => void | Promise<void>): Promise<void> => eventually(attempt, { timeout: 15_000 });

virtualWorkspaceConformance('embedded in the shard', { start: embeddedHost, eventually: retry });
virtualWorkspaceConformance('as a server', {
  start: (shard) => StandaloneServer.start(shard),
  eventually: retry,
});
