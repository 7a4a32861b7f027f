import { describePage } from '../harness/documentation.ts';

describePage('many-providers.md');
