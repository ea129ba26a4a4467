#include "gguf/model_name.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "gguf/gguf_builder.h"

namespace kinglet {
namespace {

std::string named(std::string_view name, std::string_view path) {
  const Bytes file = GgufBuilder().set("general.name", name).build();
  return model_name(parse_gguf_header(file, file.size()).value(), path);
}

TEST(ModelName, IsThatOfTheFileIfTheMetadataNameATrainingRun) {
  for (const char* run : {"Checkpoint 1200",
                          "checkpoint-1200",
                          "Llama 3 8B Checkpoint 500",
                          "Epoch 3",
                          "Step 5000",
                          "global_step_300",
                          "Smollm2 135M 8k Lc100K Mix1 Ep2",
                          "output-merged",
                          "Output Merged",
                          "Tmp",
                          "tmpx8k2n1qa",
                          "/data/out/run3",
                          "./out",
                          "C:\\models\\out",
                          "out/run3",
                          "~/x/llama",
                          "Model",
                          "hf-export",
                          "Merged Model Fp16",
                          "Final",
                          "run 3",
                          "1200",
                          "Snapshots",
                          "outputs/checkpoints",
                          "merged_16bit",
                          "5f0b02c75b57c5855da9ae460ce51323ea669d8a",
                          "-",
                          ""}) {
    EXPECT_EQ(named(run, "dir/Bird-1B.Q4_0.gguf"), "Bird-1B.Q4_0") << run;
  }
  EXPECT_EQ(model_name({}, "Bird-1B.gguf"), "Bird-1B");
}

TEST(ModelName, IsTheOneInTheMetadata) {
  for (const char* name :
       {"Kinglet Stories 5M", "Qwen3 0.6B", "gpt-2", "Phi3", "LLaMA v2", "Step 3.5 Flash",
        "Mixtral 8x7B Instruct", "all-MiniLM-L6-v2", "owner/bird-1b", "Vogel Größe", "模型",
        "Olmo 2 1124 7B", "Gemma 3n E2B It", "R1 Distill Qwen 1.5B"}) {
    EXPECT_EQ(named(name, "other.gguf"), name);
  }
}

TEST(ModelName, StaysIfTheFileSaysNoMore) {
  EXPECT_EQ(named("Checkpoint 1200", "model.gguf"), "Checkpoint 1200");
  EXPECT_EQ(named("Checkpoint 1200", "ggml-model-f16.gguf"), "Checkpoint 1200");
  EXPECT_EQ(named("Checkpoint 1200", ""), "Checkpoint 1200");
  EXPECT_EQ(named("", "model.gguf"), "model");
  EXPECT_EQ(named("", ""), "");
}

TEST(ModelName, LeavesOutFoldersAndParts) {
  EXPECT_EQ(named("", "a/b/Bird-00001-of-00002.gguf"), "Bird");
  EXPECT_EQ(named("", "C:\\b\\Bird.GGUF"), "Bird");
  EXPECT_EQ(named("", "hf:owner/Bird-0.5B-GGUF:Q4_K_M"), "Bird-0.5B-GGUF:Q4_K_M");
}

}  // namespace
}  // namespace kinglet
