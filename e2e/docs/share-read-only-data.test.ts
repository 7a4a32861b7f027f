import { describePage } from '../harness/documentation.ts';

describePage('share-read-only-data.md');
