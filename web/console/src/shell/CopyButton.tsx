export { CopyButton } from "@castalia/oracles-ui/parts";
