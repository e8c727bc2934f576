export {
  createToolExecutor,
  type RequestOptions,
  type ToolExecutor,
  type ToolExecutorOptions,
  type ToolStats,
} from './executor.js';
