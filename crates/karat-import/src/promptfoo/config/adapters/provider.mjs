// Calls a provider written for promptfoo and prints its output.
// Usage: provider.mjs FILE NAME OPTIONS VARIABLES, with the prompt on standard input. OPTIONS and VARIABLES are JSON.
import { readFileSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [file, name, options, variables] = process.argv.slice(2);
const prompt = readFileSync(0, 'utf8');
console.log = console.info = console.error;

const module = await import(pathToFileURL(file));
const exported = module[name] ?? module.default ?? module;
const Provider = exported.default ?? exported;
const settings = JSON.parse(options);
const context = { vars: JSON.parse(variables), prompt: { raw: prompt, label: prompt } };
const isClass = typeof Provider === 'function' && typeof Provider.prototype?.callApi === 'function';
const provider = isClass ? new Provider({ id: file, ...settings }) : Provider;
const result = typeof provider === 'function'
  ? await provider(prompt, context, settings)
  : await provider.callApi(prompt, context, settings);
if (result?.error) {
  console.error(String(result.error));
  process.exit(1);
}
const output = result !== null && typeof result === 'object' && 'output' in result ? result.output : result;
writeSync(1, typeof output === 'string' ? output : JSON.stringify(output));
process.exit(0);
