// Runs the tests of the page that need no browser.
import {build} from 'esbuild';
import {spawnSync} from 'node:child_process';
import {mkdtempSync, readdirSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const find = dir => readdirSync(dir, {withFileTypes: true}).flatMap(e => e.isDirectory() ? find(join(dir, e.name)) : e.name.endsWith('.test.ts') ? [join(dir, e.name)] : []);
const outdir = mkdtempSync(join(tmpdir(), 'page-'));
await build({entryPoints: find('src'), outdir, bundle: true, format: 'esm', platform: 'node', outExtension: {'.js': '.mjs'}, logLevel: 'warning'});
const run = spawnSync(process.execPath, ['--test', ...readdirSync(outdir, {recursive: true}).filter(f => f.endsWith('.mjs')).map(f => join(outdir, f))], {stdio: 'inherit'});
rmSync(outdir, {recursive: true});
process.exit(run.status ?? 1);
