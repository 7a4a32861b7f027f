import { describePage } from '../harness/documentation.ts';

describePage('from-kcp.md');
