import { describePage } from '../harness/documentation.ts';

describePage('workspaces.md');
