// Makes the heap image that guests start from, beside the built engine code.
import { writeFileSync } from 'node:fs';
import { GuestVm } from '../dist/guest/engine/guest-vm.js';
import { imageFingerprint, packHeapImage } from '../dist/guest/engine/heap-image.js';
import { engineBinaries, engineModules } from '../dist/guest/engine/modules.js';

const { engine, extensions } = await engineModules();
const image = await GuestVm.makeImage({ engine, extensions });
const { bytes, facts } = packHeapImage(image, imageFingerprint(await engineBinaries()));
writeFileSync(new URL('../dist/guest/engine/heap-image.bin', import.meta.url), bytes);
writeFileSync(new URL('../dist/guest/engine/heap-image.json', import.meta.url), `${JSON.stringify(facts)}\n`);
