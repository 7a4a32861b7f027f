import { describePage } from '../harness/documentation.ts';

describePage('bring-your-tools.md');
