import { describePage } from '../harness/documentation.ts';

// A type of it stays in root.
describePage('workspace-types.md', { ownProcesses: true });
