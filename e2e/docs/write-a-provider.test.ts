import { describePage } from '../harness/documentation.ts';

describePage('write-a-provider.md');
