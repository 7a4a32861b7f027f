import { describePage } from '../harness/documentation.ts';

describePage('workspace-types.md');
